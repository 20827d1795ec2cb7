/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.grants;

import java.util.Optional;

/**
 * A privilege or setting that a role needs on a server.
 *
 * @param why what it needs it for
 * @param present whether the role has it
 * @param statement what grants it; empty if no statement can
 */
public record Grant(String why, boolean present, Optional<String> statement) {}
