/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.example.clinic;

import org.springframework.data.jpa.repository.JpaRepository;

public interface Cards extends JpaRepository<Card, String> {}
