/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.sql;

/** Thrown when a newer version of Shardflake has already deployed its SQL; nothing was changed. Use that version. */
public final class NewerVersionException extends DeploymentException {

    /** The advice for this failure. */
    public static final String REMEDY = "use the newer shardflake that deployed it";

    private static final long serialVersionUID = 1L;

    private final int deployed;
    private final int own;

    NewerVersionException(String what, int deployed, int own) {
        super("%s is deployed in version %s, and this program has only version %s".formatted(what, deployed, own));
        this.deployed = deployed;
        this.own = own;
    }

    /** The deployed version. */
    public int deployed() {
        return deployed;
    }

    /** The version that this program would have deployed. */
    public int own() {
        return own;
    }
}
