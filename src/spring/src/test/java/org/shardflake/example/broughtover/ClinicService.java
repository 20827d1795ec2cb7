/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.example.broughtover;

import java.time.LocalDate;
import java.util.List;
import java.util.Optional;
import org.shardflake.spring.OnShard;
import org.shardflake.spring.ShardPages;
import org.shardflake.spring.ShardTemplate;
import org.springframework.data.domain.Page;
import org.springframework.data.domain.Pageable;
import org.springframework.stereotype.Service;
import org.springframework.transaction.annotation.Transactional;

@Service
public class ClinicService {

    private final Owners owners;
    private final Visits visits;
    private final Vets vets;
    private final PetTypes types;
    private final ShardTemplate shards;

    ClinicService(Owners owners, Visits visits, Vets vets, PetTypes types, ShardTemplate shards) {
        this.owners = owners;
        this.visits = visits;
        this.vets = vets;
        this.types = types;
        this.shards = shards;
    }

    @OnShard("@shardTemplate.anyShard()")
    @Transactional
    public Owner register(Owner owner) {
        return owners.save(owner);
    }

    @OnShard("#owner.id")
    @Transactional
    public Owner update(Owner owner) {
        return owners.save(owner);
    }

    @OnShard("#ownerId")
    @Transactional(readOnly = true)
    public Optional<Owner> find(long ownerId) {
        return owners.findById(ownerId);
    }

    @OnShard("#ownerId")
    @Transactional
    public void addPet(long ownerId, String name, LocalDate birthDate, long typeId) {
        PetType type = types.findById(typeId).orElseThrow();
        owners.findById(ownerId).orElseThrow().addPet(name, birthDate, type);
    }

    @OnShard("#ownerId")
    @Transactional
    public void addVisit(long ownerId, long petId, LocalDate date, String description) {
        owners.findById(ownerId).orElseThrow().getPet(petId).addVisit(date, description);
    }

    @OnShard("@shardTemplate.anyShard()")
    @Transactional(readOnly = true)
    public List<Vet> vets() {
        return vets.findAll();
    }

    @OnShard("@shardTemplate.homeShard()")
    @Transactional
    public Vet hire(Vet vet) {
        return vets.save(vet);
    }

    public Page<Owner> findByLastName(String lastName, Pageable pageable) {
        return ShardPages.find(shards, pageable, page -> owners.findByLastNameStartingWith(lastName, page));
    }

    public Page<Visit> visits(Pageable pageable) {
        return ShardPages.find(shards, pageable, visits::findAll);
    }

    public long countOwners() {
        return shards.readAll(owners::count).stream().mapToLong(count -> count).sum();
    }
}
