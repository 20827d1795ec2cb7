/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.example.broughtover;

/** {@link BroughtOver} with Spring Boot 3, which is here without Spring MVC. */
class BroughtOverBootThreeTest extends BroughtOver {

    @Override
    void checkRequests(ClinicService clinic) {
        // There is nothing to send them to.
    }
}
