/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.example.broughtover;

import jakarta.persistence.CascadeType;
import jakarta.persistence.Entity;
import jakarta.persistence.FetchType;
import jakarta.persistence.GeneratedValue;
import jakarta.persistence.GenerationType;
import jakarta.persistence.Id;
import jakarta.persistence.JoinColumn;
import jakarta.persistence.ManyToOne;
import jakarta.persistence.OneToMany;
import jakarta.persistence.OrderBy;
import jakarta.persistence.Table;
import java.time.LocalDate;
import java.util.LinkedHashSet;
import java.util.Set;
import org.jspecify.annotations.Nullable;

@SuppressWarnings("UnusedVariable") // Hibernate reads the fields.
@Entity
@Table(name = "pets")
public class Pet {

    @Id
    @GeneratedValue(strategy = GenerationType.IDENTITY)
    private @Nullable Long id;

    @ManyToOne
    private Owner owner;

    private String name;
    private LocalDate birthDate;

    @ManyToOne
    private PetType type;

    @OneToMany(cascade = CascadeType.ALL, fetch = FetchType.EAGER)
    @JoinColumn(name = "pet_id", nullable = false)
    @OrderBy("date")
    private Set<Visit> visits = new LinkedHashSet<>();

    protected Pet() {}

    Pet(Owner owner, String name, LocalDate birthDate, PetType type) {
        this.owner = owner;
        this.name = name;
        this.birthDate = birthDate;
        this.type = type;
    }

    public @Nullable Long getId() {
        return id;
    }

    public String getName() {
        return name;
    }

    public PetType getType() {
        return type;
    }

    public Set<Visit> getVisits() {
        return visits;
    }

    public Visit addVisit(LocalDate date, String description) {
        Visit visit = new Visit(owner.getId(), date, description);
        visits.add(visit);
        return visit;
    }
}
