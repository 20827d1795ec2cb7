/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
/** The privileges that a role needs on a server; {@link org.shardflake.grants.Grants} is the way in. */
@NullMarked
package org.shardflake.grants;

import org.jspecify.annotations.NullMarked;
