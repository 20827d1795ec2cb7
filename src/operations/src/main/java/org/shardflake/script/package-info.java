/**
 * SQL statements run in many shards, in each in a transaction of its own, exactly once.
 *
 * <p>{@link org.shardflake.script.ScriptRunner} is the way in.
 */
@NullMarked
package org.shardflake.script;

import org.jspecify.annotations.NullMarked;
