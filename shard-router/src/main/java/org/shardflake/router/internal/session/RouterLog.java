/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.router.internal.session;

/** The name of the router's logger. */
public final class RouterLog {

    public static final String NAME = "org.shardflake.router";

    private RouterLog() {}
}
