/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.spring;

import java.lang.reflect.InvocationHandler;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import java.util.Map;
import org.jspecify.annotations.Nullable;
import org.shardflake.router.ShardRouter;
import org.shardflake.router.health.RouterHealth;
import org.springframework.beans.factory.FactoryBean;
import org.springframework.beans.factory.ObjectProvider;
import org.springframework.util.ClassUtils;

/**
 * A bean of a Spring Boot 3 interface that is in another package in Spring Boot 4, which this module is compiled with.
 *
 * @param type the interface
 * @param handler what its methods do, except those with a default
 */
record BootThreeBean(Class<?> type, InvocationHandler handler) implements FactoryBean<Object> {

    static final String HEALTH_INDICATOR = "org.springframework.boot.actuate.health.HealthIndicator";

    static final String HEALTH = "org.springframework.boot.actuate.health.Health";

    static BootThreeBean health(ObjectProvider<ShardRouter> router) {
        return of(HEALTH_INDICATOR, (proxy, method, arguments) -> health(router.getObject()));
    }

    private static Object health(ShardRouter router) throws Throwable {
        RouterHealth health = router.health();
        Object builder = call(load(HEALTH).getMethod("status", String.class), null, HealthDetails.status(health));
        call(builder.getClass().getMethod("withDetails", Map.class), builder, HealthDetails.of(health));
        return call(builder.getClass().getMethod("build"), builder);
    }

    private static Object call(Method method, @Nullable Object target, Object... arguments) throws Throwable {
        try {
            return method.invoke(target, arguments);
        } catch (InvocationTargetException e) {
            throw e.getTargetException();
        }
    }

    private static BootThreeBean of(String type, InvocationHandler handler) {
        return new BootThreeBean(load(type), handler);
    }

    private static Class<?> load(String name) {
        return ClassUtils.resolveClassName(name, BootThreeBean.class.getClassLoader());
    }

    @Override
    public Object getObject() {
        return Proxy.newProxyInstance(type.getClassLoader(), new Class<?>[] {type}, this::invoke);
    }

    private @Nullable Object invoke(Object proxy, Method method, @Nullable Object @Nullable [] arguments)
            throws Throwable {
        if (method.isDefault()) {
            return InvocationHandler.invokeDefault(proxy, method, arguments);
        }
        return switch (method.getName()) {
            case "equals" -> arguments != null && proxy == arguments[0];
            case "hashCode" -> System.identityHashCode(proxy);
            case "toString" -> "Shardflake's " + type.getSimpleName();
            default -> handler.invoke(proxy, method, arguments);
        };
    }

    @Override
    public Class<?> getObjectType() {
        return type;
    }
}
