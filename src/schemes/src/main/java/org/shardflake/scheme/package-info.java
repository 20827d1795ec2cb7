/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */

/**
 * The schemes for ids that people come from, each as a decoder and a generator: to read ids that are there already, and to
 * compare. Begin with {@link org.shardflake.scheme.Schemes}.
 *
 * <p>Each behaves as its publication says, with its flaws; what it does when the clock steps back is documented with it.
 */
@NullMarked
package org.shardflake.scheme;

import org.jspecify.annotations.NullMarked;
