/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */

/**
 * Restore points of a whole installation: positions in the write-ahead logs of every server and of the catalog, to which backups are restored
 * together.
 *
 * <p>{@link org.shardflake.restore.RestorePoints} is the way in.
 */
@NullMarked
package org.shardflake.restore;

import org.jspecify.annotations.NullMarked;
