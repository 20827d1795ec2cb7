/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.split;

import static org.apiguardian.api.API.Status.EXPERIMENTAL;

import org.apiguardian.api.API;
import org.shardflake.preflight.PreflightCheck;

/** Receives the progress of a split until its move begins. An exception it throws stops the split. */
@API(status = EXPERIMENTAL)
public interface SplitListener {

    /** Ignores everything. */
    SplitListener NONE = new SplitListener() {};

    /** A check found something to know of, which does not prevent the split. */
    default void warned(PreflightCheck check) {}

    /** A step has just been done. */
    default void reached(SplitStep step) {}

    /**
     * The work has been waiting for something for a second, and keeps waiting while patience lasts.
     *
     * @param what the wait, what it is for, and who holds it; told again when that changes
     */
    default void waits(String what) {}
}
