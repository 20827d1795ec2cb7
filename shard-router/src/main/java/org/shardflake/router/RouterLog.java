/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.router;

/** The name of the router's logger. */
final class RouterLog {

    static final String NAME = "org.shardflake.router";

    private RouterLog() {}
}
