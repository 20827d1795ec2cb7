/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */

/** The commands that create, adopt, upgrade and protect a whole installation. */
@NullMarked
package org.shardflake.cli.command.installation;

import org.jspecify.annotations.NullMarked;
