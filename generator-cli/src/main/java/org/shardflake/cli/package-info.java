/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
@NullMarked
package org.shardflake.cli;

import org.jspecify.annotations.NullMarked;
