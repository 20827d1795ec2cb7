/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.example.jpa;

import org.springframework.data.jpa.repository.JpaRepository;

public interface Photos extends JpaRepository<Photo, Long> {

    long countByTitle(String title);
}
