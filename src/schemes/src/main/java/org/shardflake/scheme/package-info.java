/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */

/**
 * The id schemes that people migrate from, each with a decoder and a generator, for reading existing ids and for
 * comparison. Begin with {@link org.shardflake.scheme.Schemes}.
 *
 * <p>Each behaves as published, flaws included, and documents what it does when the clock steps back.
 */
@NullMarked
package org.shardflake.scheme;

import org.jspecify.annotations.NullMarked;
