/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
@NullMarked
package org.shardflake;

import org.jspecify.annotations.NullMarked;
