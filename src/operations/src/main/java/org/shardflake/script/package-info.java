/**
 * Runs SQL statements in many shards, each time in a separate transaction and exactly once.
 *
 * <p>{@link org.shardflake.script.ScriptRunner} is the way in.
 */
@NullMarked
package org.shardflake.script;

import org.jspecify.annotations.NullMarked;
