/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.cli.command;

import java.util.LinkedHashMap;
import java.util.Locale;
import java.util.Map;
import org.shardflake.load.ShardRate;

/** Shows rates, in rows per second. */
final class RateView {

    private static final int ALWAYS_WHOLE = 100;

    private RateView() {}

    static Map<String, Object> facts(ShardRate rate) {
        Map<String, Object> facts = new LinkedHashMap<>();
        facts.put("written", round(rate.written()));
        facts.put("inserted", round(rate.inserted()));
        facts.put("read", round(rate.read()));
        return facts;
    }

    /** To a tenth. */
    static double round(double rate) {
        return Math.round(rate * 10) / 10.0;
    }

    static String number(double rate) {
        return round(rate) == 0 || rate >= ALWAYS_WHOLE
                ? String.format(Locale.ROOT, "%,d", Math.round(rate))
                : String.format(Locale.ROOT, "%.1f", rate);
    }
}
