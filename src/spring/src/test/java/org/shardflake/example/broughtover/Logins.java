/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.example.broughtover;

import java.util.Optional;
import org.shardflake.spring.OnShard;
import org.springframework.data.jpa.repository.JpaRepository;

/** Repositories that controllers call themselves have the keys on their methods. */
public interface Logins extends JpaRepository<Login, String> {

    @Override
    @OnShard("#p0")
    Optional<Login> findById(String username);

    @Override
    @OnShard("#p0.username")
    <S extends Login> S save(S login);
}
