/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.server;

import java.io.Serial;
import java.sql.SQLException;
import org.jspecify.annotations.Nullable;

/** A {@link PasswordSource} gave no password, so the server was not asked for a connection. */
public final class PasswordUnavailableException extends SQLException {

    @Serial
    private static final long serialVersionUID = 1L;

    PasswordUnavailableException(PasswordSource.Login login, String why, @Nullable Throwable cause) {
        super("there is no password for user %s at %s: %s".formatted(login.user(), login.host(), why), "08001", cause);
    }
}
