/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */

/** What is served over HTTP about an installation. */
@NullMarked
package org.shardflake.cli.watch;

import org.jspecify.annotations.NullMarked;
