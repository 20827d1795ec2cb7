/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */

/**
 * YAML files that people read and edit, written atomically, and read with messages that say what is wrong and where.
 */
@NullMarked
package org.shardflake.yaml;

import org.jspecify.annotations.NullMarked;
