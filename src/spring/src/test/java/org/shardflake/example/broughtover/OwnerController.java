/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.example.broughtover;

import java.util.List;
import org.springframework.data.domain.Page;
import org.springframework.data.domain.PageRequest;
import org.springframework.data.domain.Sort;
import org.springframework.http.ResponseEntity;
import org.springframework.web.bind.annotation.GetMapping;
import org.springframework.web.bind.annotation.PathVariable;
import org.springframework.web.bind.annotation.PostMapping;
import org.springframework.web.bind.annotation.RequestBody;
import org.springframework.web.bind.annotation.RequestParam;
import org.springframework.web.bind.annotation.RestController;

/** Requests about owners. Ids are texts in JSON, since they exceed 2^53. */
@RestController
class OwnerController {

    record OwnerView(String id, String name, String city, List<String> pets) {

        static OwnerView of(Owner owner) {
            return new OwnerView(
                    String.valueOf(owner.getId()),
                    owner.getFirstName() + " " + owner.getLastName(),
                    owner.getCity(),
                    owner.getPets().stream().map(Pet::getName).toList());
        }
    }

    record OwnersView(long total, List<OwnerView> owners) {}

    record OwnerForm(String firstName, String lastName, String city) {}

    private final ClinicService clinic;

    OwnerController(ClinicService clinic) {
        this.clinic = clinic;
    }

    @PostMapping("/owners")
    OwnerView register(@RequestBody OwnerForm form) {
        return OwnerView.of(clinic.register(new Owner(form.firstName(), form.lastName(), form.city())));
    }

    @GetMapping("/owners/{ownerId}")
    ResponseEntity<OwnerView> owner(@PathVariable long ownerId) {
        return ResponseEntity.of(clinic.find(ownerId).map(OwnerView::of));
    }

    @GetMapping("/owners")
    OwnersView owners(@RequestParam String lastName, @RequestParam int page) {
        Page<Owner> found = clinic.findByLastName(lastName, PageRequest.of(page, 2, Sort.by("lastName", "id")));
        return new OwnersView(found.getTotalElements(), found.map(OwnerView::of).getContent());
    }
}
