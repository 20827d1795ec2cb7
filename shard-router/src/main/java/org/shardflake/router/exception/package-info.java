/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
/** The exceptions of the router: each stands for one kind of failure, and says whether anything was written. */
@NullMarked
package org.shardflake.router.exception;

import org.jspecify.annotations.NullMarked;
