/**
 * The demo: embedded servers, tables in every shard, rows from several threads, and checks that read everything back.
 * Start with {@link org.shardflake.cli.demo.Demo}.
 */
@NullMarked
package org.shardflake.cli.demo;

import org.jspecify.annotations.NullMarked;
