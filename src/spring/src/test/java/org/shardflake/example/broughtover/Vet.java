/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.example.broughtover;

import jakarta.persistence.Entity;
import jakarta.persistence.FetchType;
import jakarta.persistence.Id;
import jakarta.persistence.JoinColumn;
import jakarta.persistence.JoinTable;
import jakarta.persistence.ManyToMany;
import jakarta.persistence.OrderBy;
import jakarta.persistence.Table;
import java.util.LinkedHashSet;
import java.util.Set;

@Entity
@Table(name = "vets", schema = "reference")
public class Vet {

    @Id
    private long id;

    private String lastName;

    @ManyToMany(fetch = FetchType.EAGER)
    @JoinTable(
            name = "vet_specialties",
            schema = "reference",
            joinColumns = @JoinColumn(name = "vet_id"),
            inverseJoinColumns = @JoinColumn(name = "specialty_id"))
    @OrderBy("name")
    private Set<Specialty> specialties = new LinkedHashSet<>();

    protected Vet() {}

    public Vet(long id, String lastName) {
        this.id = id;
        this.lastName = lastName;
    }

    public String getLastName() {
        return lastName;
    }

    public Set<Specialty> getSpecialties() {
        return specialties;
    }
}
