/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.example.clinic;

import org.springframework.data.jpa.repository.JpaRepository;
import org.springframework.data.jpa.repository.Modifying;
import org.springframework.data.jpa.repository.Query;

public interface Owners extends JpaRepository<Owner, Long> {

    @Modifying
    @Query("UPDATE Owner o SET o.name = :name, o.version = o.version + 1 WHERE o.uid = :uid")
    int rename(long uid, String name);
}
