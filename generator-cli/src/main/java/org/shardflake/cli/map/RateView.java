/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.cli.map;

import java.util.LinkedHashMap;
import java.util.Map;
import org.shardflake.cli.output.Amounts;
import org.shardflake.load.ShardRate;

/** Shows rates, in rows per second. */
public final class RateView {

    private RateView() {}

    public static Map<String, Object> facts(ShardRate rate) {
        Map<String, Object> facts = new LinkedHashMap<>();
        facts.put("written", Amounts.tenths(rate.written()));
        facts.put("inserted", Amounts.tenths(rate.inserted()));
        facts.put("read", Amounts.tenths(rate.read()));
        return facts;
    }
}
