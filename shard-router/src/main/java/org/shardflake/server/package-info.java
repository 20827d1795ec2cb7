/** The addresses of servers and connections to them. Start with {@link org.shardflake.server.ServerUrl}. */
@NullMarked
package org.shardflake.server;

import org.jspecify.annotations.NullMarked;
