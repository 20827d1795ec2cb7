/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.example.broughtover;

import org.springframework.data.domain.Page;
import org.springframework.data.domain.Pageable;
import org.springframework.data.jpa.repository.JpaRepository;

public interface Owners extends JpaRepository<Owner, Long> {

    Page<Owner> findByLastNameStartingWith(String lastName, Pageable pageable);
}
