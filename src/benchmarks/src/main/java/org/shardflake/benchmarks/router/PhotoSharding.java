package org.shardflake.benchmarks.router;

import java.util.Collection;
import java.util.LinkedHashSet;
import java.util.Map;
import java.util.Properties;
import java.util.Set;
import org.apache.shardingsphere.sharding.api.sharding.complex.ComplexKeysShardingAlgorithm;
import org.apache.shardingsphere.sharding.api.sharding.complex.ComplexKeysShardingValue;

/**
 * Tells ShardingSphere the server or the table of a uid or of an id, as its documentation has it for rules that are more
 * than one column's: an algorithm of type {@code CLASS_BASED} with the strategy {@code COMPLEX}.
 */
public final class PhotoSharding implements ComplexKeysShardingAlgorithm<Long> {

    private String prefix = "";
    private long shards;
    private int modulo;

    @Override
    public void init(Properties properties) {
        prefix = properties.getProperty("prefix");
        shards = Long.parseLong(properties.getProperty("shards"));
        modulo = Integer.parseInt(properties.getProperty("modulo"));
    }

    @Override
    public Collection<String> doSharding(Collection<String> available, ComplexKeysShardingValue<Long> asked) {
        Map<String, Collection<Long>> values = asked.getColumnNameAndShardingValuesMap();
        if (values.isEmpty()) {
            return available;
        }
        Set<String> targets = new LinkedHashSet<>();
        for (long id : values.getOrDefault("id", Set.of())) {
            targets.add(prefix + Layout.shardOfId(id) % modulo);
        }
        for (long uid : values.getOrDefault("uid", Set.of())) {
            targets.add(prefix + Math.floorMod(uid, shards) % modulo);
        }
        return targets;
    }
}
