/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
/**
 * Adapters to classes of the PostgreSQL driver that are not public API, and may change in any release. All other code uses only the published
 * ones. Internal: not for applications, and free to change.
 */
@NullMarked
package org.shardflake.server.internal;

import org.jspecify.annotations.NullMarked;
