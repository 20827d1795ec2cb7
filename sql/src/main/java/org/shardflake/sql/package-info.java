/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
/**
 * Deploys the SQL side of Shardflake. Start with {@link org.shardflake.sql.FunctionLibrary}; the changelogs and
 * functions themselves are resources under {@code shardflake/}.
 */
@NullMarked
package org.shardflake.sql;

import org.jspecify.annotations.NullMarked;
