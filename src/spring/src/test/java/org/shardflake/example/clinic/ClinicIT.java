/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.example.clinic;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.file.Path;
import java.sql.SQLException;
import java.util.List;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.api.io.TempDir;
import org.shardflake.ShardSet;
import org.shardflake.cluster.PostgresExtension;
import org.shardflake.move.MoveListener;
import org.shardflake.move.MoveSettings;
import org.shardflake.move.Mover;
import org.shardflake.server.ServerUrl;
import org.shardflake.spring.PhotoInstallation;
import org.springframework.boot.SpringApplication;
import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.jdbc.core.simple.JdbcClient;

/** Services that save what their callers give them, while shards move and connections are lost. */
class ClinicIT {

    private static final int THREADS = 4;
    private static final int ROUNDS = Integer.getInteger("moves.many", 8);
    /** One of so many calls loses its connection, until so many were lost. */
    private static final int LOST = 20;

    private static final int LEAST_LOST = 60;

    @RegisterExtension
    static final PostgresExtension postgres = PostgresExtension.servers(2);

    private final Queue<Throwable> failures = new ConcurrentLinkedQueue<>();
    /** Each call has a uid of its own: among thousands of random ones, two are alike in one run of thirty. */
    private final AtomicInteger uids = new AtomicInteger();

    private final AtomicInteger owners = new AtomicInteger();
    private final AtomicInteger pets = new AtomicInteger();
    private final AtomicInteger cards = new AtomicInteger();
    private final AtomicInteger journal = new AtomicInteger();
    private final AtomicInteger letters = new AtomicInteger();
    private final AtomicInteger renamed = new AtomicInteger();
    private final AtomicInteger lost = new AtomicInteger();
    private volatile boolean stopped;

    @Test
    @Tag("full")
    void nobodyNoticesMovesAndLostConnections(@TempDir Path directory) throws Exception {
        PhotoInstallation installation = PhotoInstallation.create(postgres, directory, RunAgainTest.TABLES);
        Mover mover = Mover.at(ServerUrl.parse(installation.catalogUrl()), MoveSettings.DEFAULT, MoveListener.NONE);
        try (ConfigurableApplicationContext application = SpringApplication.run(
                RunAgainTest.Application.class,
                installation.argumentsForJpa("--spring.main.web-application-type=none"))) {
            ExecutorService threads = Executors.newFixedThreadPool(THREADS);
            for (int i = 0; i < THREADS; i++) {
                threads.execute(() -> work(application));
            }
            try {
                for (int round = 0; round < ROUNDS; round++) {
                    mover.carryOut(mover.beginOrResume("db1", "db2", ShardSet.parse("0,2,4,6"), "there"), false);
                    mover.carryOut(mover.beginOrResume("db2", "db1", ShardSet.parse("0,2,4,6"), "and back"), false);
                }
            } finally {
                stopped = true;
                threads.shutdown();
            }
            assertThat(threads.awaitTermination(5, TimeUnit.MINUTES)).isTrue();

            assertThat(failures).isEmpty();
            assertThat(lost.get()).as("lost connections").isGreaterThanOrEqualTo(LEAST_LOST);
            assertThat(rows(installation, "owner")).isEqualTo(owners.get());
            assertThat(rows(installation, "pet")).isEqualTo(pets.get());
            assertThat(rows(installation, "card")).isEqualTo(cards.get());
            assertThat(rows(installation, "journal")).isEqualTo(journal.get());
            assertThat(rows(installation, "owner WHERE name = 'Elizabeth' AND version = 1"))
                    .isEqualTo(renamed.get());
            assertThat(application.getBean(Clinic.Letters.class).sent).hasSize(letters.get());
        }
    }

    private static long rows(PhotoInstallation installation, String table) throws SQLException {
        long rows = 0;
        for (int shard = 0; shard < PhotoInstallation.SHARDS; shard++) {
            rows += installation.number(shard % 2, "SELECT count(*) FROM shard_%04d.%s".formatted(shard, table));
        }
        return rows;
    }

    private void work(ConfigurableApplicationContext application) {
        Clinic clinic = application.getBean(Clinic.class);
        JdbcClient jdbc = application.getBean(JdbcClient.class);
        while (!stopped || (lost.get() < LEAST_LOST && failures.isEmpty())) {
            try {
                once(clinic, uids.incrementAndGet(), last(jdbc));
                Thread.sleep(5); // The servers share the machine.
            } catch (Throwable e) {
                failures.add(e);
            }
        }
    }

    /** Loses the connection in the first run of some calls. */
    private Runnable last(JdbcClient jdbc) {
        boolean[] loses = {ThreadLocalRandom.current().nextInt(LOST) == 0};
        return () -> {
            if (loses[0]) {
                loses[0] = false;
                lost.incrementAndGet();
                jdbc.sql("SELECT pg_terminate_backend(pg_backend_pid())")
                        .query()
                        .listOfRows();
            }
        };
    }

    private void once(Clinic clinic, long uid, Runnable last) {
        switch ((int) (uid / PhotoInstallation.SHARDS % 6)) { // so that each kind meets each shard
            case 0 -> {
                clinic.register(
                        new Owner(uid, "Betty")
                                .with(new Pet("Leo"))
                                .with(new Pet("Basil"))
                                .reachedAt("555"),
                        last);
                count(1, 2, 0, 1);
            }
            case 1 -> {
                clinic.register(new Clinic.OwnerForm(uid, "George", List.of("Max")), last);
                count(1, 1, 0, 1);
            }
            case 2 -> {
                clinic.registerAll(
                        uid, List.of(new Owner(uid, "Ann"), new Owner(uid, "Bob").with(new Pet("Lucky"))), last);
                count(2, 1, 0, 2);
            }
            case 3 -> {
                clinic.issue(uid, new Card(String.valueOf(uid)), last);
                count(0, 0, 1, 0);
            }
            case 4 -> {
                clinic.register(new Owner(uid, "Betty"), () -> {});
                assertThat(clinic.rename(uid, "Elizabeth", last)).isEqualTo(1);
                count(1, 0, 0, 1);
                journal.incrementAndGet(); // Of the change, which sends no letter.
                renamed.incrementAndGet();
            }
            default -> {
                Pet pet = clinic.add(uid, new Pet("Rosy"), last);
                assertThat(pet.id()).isNotNull();
                count(0, 1, 0, 0);
            }
        }
    }

    private void count(int newOwners, int newPets, int newCards, int newNotes) {
        owners.addAndGet(newOwners);
        pets.addAndGet(newPets);
        cards.addAndGet(newCards);
        journal.addAndGet(newNotes);
        letters.addAndGet(newNotes);
    }
}
