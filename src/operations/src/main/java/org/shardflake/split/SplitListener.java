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

    /** Called when a check has found something worth knowing that does not prevent the split. */
    default void warned(PreflightCheck check) {}

    /** Called when a step has been completed. */
    default void reached(SplitStep step) {}

    /**
     * Called when the work has waited for a second; it continues to wait up to its time limit.
     *
     * @param what the wait, what it is for, and who holds it; told again when that changes
     */
    default void waits(String what) {}
}
