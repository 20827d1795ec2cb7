/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */

/** How results look: tables, JSON and YAML. */
@NullMarked
package org.shardflake.cli.output;

import org.jspecify.annotations.NullMarked;
