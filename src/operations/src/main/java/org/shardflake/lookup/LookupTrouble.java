/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.lookup;

import org.shardflake.Advice;

/**
 * A problem with lookups on one server.
 *
 * @param check a stable name, such as lookup-dropped
 */
public record LookupTrouble(String check, String found, Advice remedy) {}
