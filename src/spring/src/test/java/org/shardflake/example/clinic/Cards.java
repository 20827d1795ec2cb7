/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.example.clinic;

import org.shardflake.spring.OnShard;
import org.springframework.data.jpa.repository.JpaRepository;
import org.springframework.data.jpa.repository.Query;
import org.springframework.transaction.annotation.Transactional;

public interface Cards extends JpaRepository<Card, String> {

    @OnShard("#uid")
    @Transactional(readOnly = true)
    @Query("SELECT COUNT(c) FROM Card c WHERE :uid = :uid")
    long countOf(long uid);

    /** The caller's, from an interface that has other names. */
    @Override
    @OnShard("2")
    @Transactional
    <S extends Card> S save(S card);
}
