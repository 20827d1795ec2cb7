/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.example;

/** A photo of a user. */
record Photo(long id, long uid, String title) {}
