/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.router.health;

import java.time.Duration;
import java.util.Optional;

/**
 * Whether a server answers.
 *
 * @param server the server's name
 * @param latency the time to get a connection and an answer, or to fail
 * @param problem why the server does not answer
 */
public record ServerHealth(String server, Duration latency, Optional<String> problem) {}
