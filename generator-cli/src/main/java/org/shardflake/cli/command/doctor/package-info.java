/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */

/** The commands that examine an installation: {@code doctor} and {@code reconcile}. */
@NullMarked
package org.shardflake.cli.command.doctor;

import org.jspecify.annotations.NullMarked;
