/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.spring;

import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import java.util.Map;
import java.util.UUID;
import java.util.concurrent.ConcurrentHashMap;
import org.jspecify.annotations.Nullable;
import org.shardflake.ShardKey;
import org.shardflake.ShardflakeId;
import org.springframework.context.expression.AnnotatedElementKey;
import org.springframework.context.expression.CachedExpressionEvaluator;
import org.springframework.context.expression.MethodBasedEvaluationContext;
import org.springframework.core.BridgeMethodResolver;
import org.springframework.core.annotation.AnnotatedElementUtils;
import org.springframework.expression.BeanResolver;
import org.springframework.expression.ExpressionException;
import org.springframework.util.ClassUtils;

/** Finds the annotation of a method, and the key that its expression gives. Thread-safe. */
final class OnShardKeys extends CachedExpressionEvaluator {

    static final String ONE_KEY = "give a uid, @OnShard(\"#uid\"), or an id, @OnShard(id = \"#id\")";

    private final BeanResolver beans;
    private final Map<ExpressionKey, org.springframework.expression.Expression> expressions = new ConcurrentHashMap<>();

    /** @param beans what expressions such as {@code @keys.of(#id)} call */
    OnShardKeys(BeanResolver beans) {
        this.beans = beans;
    }

    /** The annotation of a method, or else of its type; null if there is none. */
    static @Nullable OnShard find(Method method, @Nullable Class<?> type) {
        Method specific = specific(method, type);
        OnShard found = AnnotatedElementUtils.findMergedAnnotation(specific, OnShard.class);
        if (found == null && type != null && !method.getDeclaringClass().equals(Object.class)) {
            found = AnnotatedElementUtils.findMergedAnnotation(type, OnShard.class);
        }
        return found != null ? found : AnnotatedElementUtils.findMergedAnnotation(method, OnShard.class);
    }

    /** The method as it was written: a class that Spring or the JDK has made for it has no names of parameters. */
    private static Method specific(Method method, @Nullable Class<?> type) {
        Method specific = ClassUtils.getMostSpecificMethod(method, type == null ? null : ClassUtils.getUserClass(type));
        return BridgeMethodResolver.findBridgedMethod(
                Proxy.isProxyClass(specific.getDeclaringClass()) ? method : specific);
    }

    ShardKey key(OnShard annotation, Method method, Object target, @Nullable Object[] arguments) {
        boolean isId = !annotation.id().isEmpty();
        String expression = isId ? annotation.id() : annotation.value();
        if (expression.isEmpty() || (isId && !annotation.value().isEmpty())) {
            throw unusable(annotation, method, ONE_KEY, null);
        }
        Object value = evaluate(annotation, expression, method, target, arguments);
        if (value == null) {
            throw unusable(annotation, method, "\"%s\" is null".formatted(expression), null);
        }
        try {
            return isId ? id(value) : uid(value);
        } catch (IllegalArgumentException e) {
            throw unusable(annotation, method, "\"%s\" is %s".formatted(expression, e.getMessage()), e);
        }
    }

    private @Nullable Object evaluate(
            OnShard annotation, String expression, Method method, Object target, @Nullable Object[] arguments) {
        Method specific = specific(method, target.getClass());
        AnnotatedElementKey place = new AnnotatedElementKey(specific, target.getClass());
        MethodBasedEvaluationContext context =
                new MethodBasedEvaluationContext(target, specific, arguments, getParameterNameDiscoverer());
        context.setBeanResolver(beans);
        try {
            return getExpression(expressions, place, expression).getValue(context);
        } catch (ExpressionException e) {
            throw unusable(annotation, method, "\"%s\": %s".formatted(expression, e.getMessage()), e);
        }
    }

    private static ShardKey uid(Object value) {
        if (value instanceof ShardKey key) {
            return key;
        }
        if (value instanceof ShardflakeId id) {
            return ShardKey.id(id);
        }
        if (value instanceof String text) {
            return ShardKey.uid(text);
        }
        if (value instanceof UUID uuid) {
            return ShardKey.uid(uuid);
        }
        return ShardKey.uid(whole(value, "a number, String, UUID, ShardflakeId or ShardKey"));
    }

    private static ShardKey id(Object value) {
        if (value instanceof ShardflakeId id) {
            return ShardKey.id(id);
        }
        if (value instanceof String text) {
            return ShardKey.id(ShardflakeId.parse(text));
        }
        return ShardKey.id(whole(value, "a number, its text, or a ShardflakeId"));
    }

    private static long whole(Object value, String allowed) {
        if (value instanceof Long || value instanceof Integer || value instanceof Short || value instanceof Byte) {
            return ((Number) value).longValue();
        }
        throw new IllegalArgumentException(
                "%s, a %s, allowed: %s".formatted(value, value.getClass().getName(), allowed));
    }

    private static IllegalArgumentException unusable(
            OnShard annotation, Method method, String problem, @Nullable Exception cause) {
        return new IllegalArgumentException(
                "no shard for %s.%s by %s: %s"
                        .formatted(method.getDeclaringClass().getSimpleName(), method.getName(), annotation, problem),
                cause);
    }
}
