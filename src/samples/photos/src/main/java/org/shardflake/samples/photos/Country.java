/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.samples.photos;

/** A row of the reference table. */
record Country(String code, String name) {}
