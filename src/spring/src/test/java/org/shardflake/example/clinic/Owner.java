/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.example.clinic;

import jakarta.persistence.CascadeType;
import jakarta.persistence.ElementCollection;
import jakarta.persistence.Entity;
import jakarta.persistence.Id;
import jakarta.persistence.OneToMany;
import jakarta.persistence.Version;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import org.jspecify.annotations.Nullable;
import org.shardflake.spring.GeneratedShardflakeId;
import org.springframework.data.domain.AbstractAggregateRoot;

/** A pet owner with all that Hibernate and Spring Data change in an entity that they save. */
@SuppressWarnings("UnusedVariable") // Hibernate reads the fields.
@Entity
public class Owner extends AbstractAggregateRoot<Owner> {

    /** Published when an owner is saved. */
    public record Registered(String name) {}

    @Id
    @GeneratedShardflakeId
    private @Nullable Long id;

    private long uid;
    private String name;

    @Version
    private @Nullable Integer version;

    @OneToMany(mappedBy = "owner", cascade = CascadeType.ALL, orphanRemoval = true)
    private List<Pet> pets = new ArrayList<>();

    @ElementCollection
    private Set<String> phones = new HashSet<>();

    protected Owner() {}

    public Owner(long uid, String name) {
        this.uid = uid;
        this.name = name;
        registerEvent(new Registered(name));
    }

    public @Nullable Long id() {
        return id;
    }

    public @Nullable Integer version() {
        return version;
    }

    public String name() {
        return name;
    }

    public long uid() {
        return uid;
    }

    public List<Pet> pets() {
        return pets;
    }

    public Owner with(Pet pet) {
        pets.add(pet);
        pet.belongTo(this);
        return this;
    }

    public Owner reachedAt(String phone) {
        phones.add(phone);
        return this;
    }
}
