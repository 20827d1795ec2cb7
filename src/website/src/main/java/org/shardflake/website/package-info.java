/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */

/** Turns the documents into web pages. */
@NullMarked
package org.shardflake.website;

import org.jspecify.annotations.NullMarked;
