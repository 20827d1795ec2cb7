/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */

/** Makes web pages of the documents. */
@NullMarked
package org.shardflake.website;

import org.jspecify.annotations.NullMarked;
