/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.example.broughtover;

import org.springframework.data.jpa.repository.JpaRepository;

public interface Vets extends JpaRepository<Vet, Long> {}
