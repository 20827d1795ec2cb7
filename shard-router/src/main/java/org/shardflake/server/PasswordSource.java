/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.server;

/**
 * A source of passwords that are valid only for a while, such as a cloud service's tokens.
 *
 * <p>It is asked at each new connection, by several threads concurrently, and what it returns is never kept. Connections that are
 * open stay open when their password expires.
 */
@FunctionalInterface
public interface PasswordSource {

    /**
     * The login that a password is for.
     *
     * @param host of several hosts in a URL, which are then tried with one password, all of them, separated by commas
     * @param port of several hosts the first one's
     */
    record Login(String host, int port, String database, String user) {}

    /**
     * The password that is valid now.
     *
     * @throws Exception if there is none; the connection then fails with its message
     */
    String password(Login login) throws Exception;

    /**
     * Called when the server has refused a password, so that a source which keeps passwords can drop it. The source is then asked
     * again, and a different password is tried immediately.
     */
    default void refused(Login login, String password) {}
}
