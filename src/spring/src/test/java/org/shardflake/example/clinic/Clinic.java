/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.example.clinic;

import java.util.List;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import org.shardflake.spring.OnShard;
import org.springframework.context.event.EventListener;
import org.springframework.jdbc.core.simple.JdbcClient;
import org.springframework.transaction.annotation.Transactional;
import org.springframework.transaction.event.TransactionalEventListener;

/** Services as public samples of Spring have them. The caller's {@code last} is what a test does at the end of each run. */
@Transactional
public class Clinic {

    /** What a form gives. */
    public record OwnerForm(long uid, String name, List<String> pets) {}

    private final Owners owners;
    private final Cards cards;
    private final Pets pets;
    private final Journal journal;

    Clinic(Owners owners, Cards cards, Pets pets, Journal journal) {
        this.owners = owners;
        this.cards = cards;
        this.pets = pets;
        this.journal = journal;
    }

    /** A service that another one calls. */
    @Transactional
    static class Journal {

        private final JdbcClient jdbc;

        Journal(JdbcClient jdbc) {
            this.jdbc = jdbc;
        }

        @EventListener
        public void note(Owner.Registered event) {
            jdbc.sql("INSERT INTO journal (uid, what) VALUES (0, ?)")
                    .param(event.name())
                    .update();
        }
    }

    /** What is sent outside, and so only after the commit. */
    static class Letters {

        final Queue<String> sent = new ConcurrentLinkedQueue<>();

        @TransactionalEventListener
        public void welcome(Owner.Registered event) {
            sent.add(event.name());
        }
    }

    @OnShard("#owner.uid()")
    public Owner register(Owner owner, Runnable last) {
        Owner saved = owners.saveAndFlush(owner);
        last.run();
        return saved;
    }

    @OnShard("#form.uid()")
    public Long register(OwnerForm form, Runnable last) {
        Owner owner = new Owner(form.uid(), form.name());
        form.pets().forEach(name -> owner.with(new Pet(name)));
        Long id = owners.saveAndFlush(owner).id();
        last.run();
        return id;
    }

    @OnShard("#uid")
    public List<Owner> registerAll(long uid, List<Owner> all, Runnable last) {
        List<Owner> saved = owners.saveAllAndFlush(all);
        last.run();
        return saved;
    }

    @OnShard("#uid")
    public Pet add(long uid, Pet pet, Runnable last) {
        Pet saved = pets.save(pet);
        last.run();
        return saved;
    }

    @OnShard("#uid")
    public Card issue(long uid, Card card, Runnable last) {
        Card saved = cards.saveAndFlush(card);
        last.run();
        return saved;
    }

    @OnShard("#uid")
    public int rename(long uid, String name, Runnable last) {
        int renamed = owners.rename(uid, name);
        journal.note(new Owner.Registered("renamed to " + name));
        last.run();
        return renamed;
    }
}
