/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */

/** The local cluster: persistent embedded servers with an installation on them. */
@NullMarked
package org.shardflake.cli.local;

import org.jspecify.annotations.NullMarked;
