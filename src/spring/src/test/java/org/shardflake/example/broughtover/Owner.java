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
import jakarta.persistence.OneToMany;
import jakarta.persistence.OrderBy;
import jakarta.persistence.Table;
import java.time.LocalDate;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

@Entity
@Table(name = "owners")
public class Owner {

    @Id
    @GeneratedValue(strategy = GenerationType.IDENTITY)
    private @Nullable Long id;

    private String firstName;
    private String lastName;
    private String city;

    @OneToMany(mappedBy = "owner", cascade = CascadeType.ALL, fetch = FetchType.EAGER)
    @OrderBy("name")
    private List<Pet> pets = new ArrayList<>();

    protected Owner() {}

    public Owner(String firstName, String lastName, String city) {
        this.firstName = firstName;
        this.lastName = lastName;
        this.city = city;
    }

    public @Nullable Long getId() {
        return id;
    }

    public String getFirstName() {
        return firstName;
    }

    public String getLastName() {
        return lastName;
    }

    public String getCity() {
        return city;
    }

    public void setCity(String city) {
        this.city = city;
    }

    public List<Pet> getPets() {
        return pets;
    }

    public Pet getPet(long petId) {
        return pets.stream()
                .filter(pet -> pet.getId() != null && pet.getId() == petId)
                .findFirst()
                .orElseThrow();
    }

    public Pet addPet(String name, LocalDate birthDate, PetType type) {
        Pet pet = new Pet(this, name, birthDate, type);
        pets.add(pet);
        return pet;
    }
}
