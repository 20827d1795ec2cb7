/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
@NullMarked
package org.shardflake.cluster;

import org.jspecify.annotations.NullMarked;
